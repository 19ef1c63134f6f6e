/** Whether anything still holds an object: the garbage collector says so. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What is on its way out of a socket or a promise may take some turns. */
const turnsMax = 20;

export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  for (let turn = 0; turn < turnsMax && ref.deref() !== undefined; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return ref.deref() === undefined;
}
