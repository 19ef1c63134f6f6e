/** A table in Markdown, as the generated parts of the pages have it. Pure. */

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return [line(head), `|${head.map(() => "---|").join("")}\n`, ...rows.map(line)].join("");
}

export const code = (text: string | null): string => (text === null ? "–" : `\`${text}\``);
