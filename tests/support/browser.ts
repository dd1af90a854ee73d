/** The browser that this machine has, if any. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const onPath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((directory) => NAMES.map((name) => join(directory, name)));
const applications = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
export const executablePath = [process.env["CHROMIUM"] ?? "", ...onPath, ...applications].find(
  (path) => path !== "" && existsSync(path),
);
export const browserSkipReason = executablePath === undefined ? " (skipped: no Chromium or Chrome on the PATH)" : "";
