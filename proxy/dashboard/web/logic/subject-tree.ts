/** Rows of user paths as a tree: each below its nearest ancestor that has a row. Pure. */

export interface TreeRow<Item> {
  readonly item: Item;
  /** The number of its ancestors in the tree. */
  readonly depth: number;
  /** The path; for a row below an ancestor, the part after the ancestor's path. */
  readonly label: string;
  /** Whether the row above has the same path, which isn't repeated. */
  readonly isContinued: boolean;
}

/** In tree order; rows of one path keep their order. */
export function treeRows<Item extends { readonly subject: string }>(
  items: readonly Item[],
): readonly TreeRow<Item>[] {
  const sorted = items
    .map((item, i) => ({ item, i, segments: segmentsOf(item.subject) }))
    .sort((a, b) => comparePaths(a.segments, b.segments) || a.i - b.i);
  const above: string[] = [];
  return sorted.map(({ item }, i): TreeRow<Item> => {
    const { subject } = item;
    const isContinued = sorted[i - 1]?.item.subject === subject;
    if (!isContinued) {
      while (above.length > 0 && !isBelow(subject, above.at(-1)!)) above.pop();
      above.push(subject);
    }
    const parent = above.at(-2);
    return {
      item,
      depth: above.length - 1,
      label: parent === undefined || parent === "/" ? subject : subject.slice(parent.length),
      isContinued,
    };
  });
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++)
    if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return a.length - b.length;
}

function isBelow(path: string, ancestor: string): boolean {
  return path !== ancestor && (ancestor === "/" || path.startsWith(`${ancestor}/`));
}

/** The rows in their order, each with its whole path. */
export function flatRows<Item extends { readonly subject: string }>(
  items: readonly Item[],
): readonly TreeRow<Item>[] {
  return items.map((item) => ({ item, depth: 0, label: item.subject, isContinued: false }));
}
