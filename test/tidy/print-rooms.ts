/** `npm run rooms`: prints each room, the number of its files, and the rooms that it imports. */
import { programs } from "./doors.js";
import { cycles, roomGraph, unusedDoors, withoutDoor } from "./room-graph.js";
import { readSources } from "./source-tree.js";

const sources = readSources(programs);
const graph = roomGraph(sources);
const files = new Map<string, number>();
const tally = (room: string): void => void files.set(room, (files.get(room) ?? 0) + 1);
for (const { path } of sources) tally(path.slice(0, path.lastIndexOf("/")));

for (const [room, reached] of [...graph].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const count = files.get(room);
  const size = count === undefined ? "" : ` (${count} files)`;
  console.log(
    `${room}${size}: ${[...reached.keys()].sort().join(", ") || "imports no other room"}`,
  );
}
const report = (title: string, lines: readonly string[]): void =>
  console.log(`\n${title}: ${lines.length === 0 ? "none" : `\n  ${lines.join("\n  ")}`}`);
report("imports without a door", withoutDoor(graph));
report("cycles", cycles(new Map([...graph].map(([room, reached]) => [room, reached.keys()]))));
report("doors that no import uses", unusedDoors(graph));
