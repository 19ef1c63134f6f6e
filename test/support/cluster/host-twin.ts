/** What the engine's script on hosts does, for the engine in memory. */
import { hostScript } from "../../../limiterd/cluster/hosts/host-board.js";
import type { FakeEngine } from "./fake-engine.js";

export function addHostTwin(engine: FakeEngine): void {
  engine.script(hostScript.name, ({ hashes }, [key], args, nowMs) => {
    const [id, start, mark, said, aliveMs, keptMs] = args as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const rows = hashes.get(key!) ?? new Map<string, string>();
    hashes.set(key!, rows);
    const held = rows.get(id)?.split(" ");
    const isTaken =
      held !== undefined &&
      held[2] !== mark &&
      Number(held[1]) >= Number(start) &&
      nowMs - Number(held[0]) < Number(aliveMs);
    if (!isTaken) rows.set(id, `${nowMs} ${start} ${mark} ${said}`);
    for (const [other, row] of rows)
      if (nowMs - Number(row.split(" ")[0]) > Number(keptMs)) rows.delete(other);
    return [
      isTaken ? "taken" : "heard",
      String(nowMs),
      ...[...rows].flatMap(([other, row]) => {
        const [at, , , ...words] = row.split(" ");
        return [other, at!, words.join(" ")];
      }),
    ];
  });
}
