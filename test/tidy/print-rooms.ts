/**
 * `npm run rooms`: prints each folder, its files and lines, and the folders that it imports. With
 * `-- --request` it prints the files and functions that one plain chat request runs, by folder.
 */
import { type Covered, coverRequest } from "./cover-request.js";
import { programs, readSources } from "./source-tree.js";

interface Room {
  files: number;
  lines: number;
  readonly imports: Set<string>;
}

const roomOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

function printRooms(): void {
  const rooms = new Map<string, Room>();
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
}

function printCovered(program: string, covered: Covered): void {
  const functions = [...covered.values()].flat().length;
  const rooms = new Set([...covered.keys()].map(roomOf));
  console.log(`${program}: ${covered.size} files, ${functions} functions, ${rooms.size} folders`);
  for (const room of rooms) {
    console.log(`  ${room}`);
    for (const [path, names] of covered)
      if (roomOf(path) === room)
        console.log(
          `    ${path.slice(room.length + 1)}: ${names.map((n) => n || "()").join(", ")}`,
        );
  }
}

if (process.argv.includes("--request")) {
  const { proxy, daemon } = await coverRequest();
  printCovered("proxy", proxy);
  printCovered("daemon", daemon);
} else printRooms();
