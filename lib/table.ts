/** Lines do not end with spaces. @param align one letter for each column: `r` aligns it to the right */
export function textTable(rows: readonly (readonly string[])[], align = ""): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, displayWidth(cell));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const padding = " ".repeat((widths[column] ?? 0) - displayWidth(cell));
        return align[column] === "r" ? padding + cell : cell + padding;
      })
      .join("  ")
      .trimEnd(),
  );
}

/** Every code point that this project prints takes one column. */
function displayWidth(text: string): number {
  return Array.from(text).length;
}
