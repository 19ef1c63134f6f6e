import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { inProcess, temporary } from "./store-fixture.js";

t.test(
  "a flush that fails is never tried again and trusted: the store is given up",
  { skip: spawnSync("strace", ["-V"]).status === 0 ? false : "needs strace" },
  async (t) => {
    const { child, received, until } = inProcess(t, temporary(t), "commit");
    const commit = async (bytes: number): Promise<unknown> => {
      const before = received.length;
      child.send(bytes);
      await until(() => received.length > before);
      return received.at(-1);
    };
    await until(() => received.length === 1);
    t.same(await commit(10), { committed: 10 });
    const args = ["-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO"];
    const strace = spawn("strace", [...args, "-p", String(child.pid)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    t.teardown(() => void strace.kill("SIGKILL"));
    await once(strace.stderr, "data");
    t.match(await commit(20), {
      refused:
        /^StoreBrokenError: .*limiterd\.mdb can't be trusted any more: the disk failed to write what it had taken \(i\/o error\)/,
    });
  },
);
