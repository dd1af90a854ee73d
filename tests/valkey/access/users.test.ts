import { describe, expect, it } from "vitest";
import { type Credentials, passwordsDiffer } from "../../../valkey/access/users";

const user = (password: string) => ({ rules: "+@read ~*", password });
const PLAIN: Credentials = { password: "first", users: {} };
const WATCHED: Credentials = { ...PLAIN, sentinelPassword: "admin" };
const SHARED: Credentials = { ...PLAIN, users: { app: user("app") } };

describe("passwords differ", () => {
  it.each<[string, Credentials, Credentials, boolean]>([
    ["the servers have another one", PLAIN, { ...PLAIN, password: "second" }, true],
    ["a user has another one", SHARED, { ...SHARED, users: { app: user("other") } }, true],
    ["Sentinels have another one", WATCHED, { ...WATCHED, sentinelPassword: "other" }, true],
    ["nothing changes", WATCHED, WATCHED, false],
    ["a user comes", PLAIN, SHARED, false],
    ["a user leaves", SHARED, PLAIN, false],
    ["Sentinels come", PLAIN, WATCHED, false],
    ["Sentinels leave", WATCHED, PLAIN, false],
  ])("or not, when %s", (_title, before, after, differ) => {
    expect(passwordsDiffer(before, after)).toBe(differ);
  });
});
