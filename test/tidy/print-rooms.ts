/** `npm run rooms`: prints each folder, its files and lines, and the folders that it imports. */
import { programs, readSources } from "./source-tree.js";

interface Room {
  files: number;
  lines: number;
  readonly imports: Set<string>;
}

const rooms = new Map<string, Room>();
const roomOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
for (const { path, lines, imports } of readSources(programs)) {
  const room = rooms.get(roomOf(path)) ?? { files: 0, lines: 0, imports: new Set() };
  rooms.set(roomOf(path), room);
  room.files++;
  room.lines += lines;
  for (const { from, ours } of imports)
    if (ours && roomOf(from) !== roomOf(path)) room.imports.add(roomOf(from));
}
for (const [name, { files, lines, imports }] of [...rooms].sort(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${name} (${files} files, ${lines} lines): ${[...imports].sort().join(", ")}`);
