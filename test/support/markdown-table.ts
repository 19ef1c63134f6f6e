/** Tables and lists in Markdown, as the generated parts of the pages have them. Pure. */

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return [line(head), `|${head.map(() => "---|").join("")}\n`, ...rows.map(line)].join("");
}

/** Names with their meanings: a list, which reads like a table of two columns. */
export function meanings(rows: readonly (readonly [name: string, meaning: string])[]): string {
  return rows.map(([name, meaning]) => `- ${name}: ${meaning}\n`).join("");
}

export const code = (text: string | null): string => (text === null ? "–" : `\`${text}\``);

/** The items by a key, in the order in which the keys first occur. */
export function grouped<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): readonly (readonly [key: string, items: readonly T[]])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups];
}
