const WIDTH = 80;

export function wrapped(text: string, first: string, indent: string): string[] {
  const lines: string[] = [];
  let line = first.trimEnd();
  let gap = first.slice(line.length);
  for (const word of text.split(" ")) {
    if (line.length + gap.length + word.length > WIDTH && line.trim() !== "" && line !== first.trimEnd()) {
      lines.push(line);
      [line, gap] = ["", indent];
    }
    line += gap + word;
    gap = " ";
  }
  return [...lines, line];
}
