/** What the engine's script on uses of keys does, for the engine in memory. */
import { keyUseScript } from "../../../limiterd/cluster/remembered/shared-key-uses.js";
import type { FakeEngine } from "./fake-engine.js";

export function addKeyUseTwin(engine: FakeEngine): void {
  engine.script(keyUseScript.name, ({ hashes }, [key], args, nowMs) => {
    const uses = hashes.get(key!) ?? new Map<string, string>();
    hashes.set(key!, uses);
    for (let i = 0; i < args.length; i += 2) {
      const usedMs = Math.min(Number(args[i + 1]), nowMs);
      if (usedMs > Number(uses.get(args[i]!) ?? 0)) uses.set(args[i]!, String(usedMs));
    }
    return 0;
  });
}
