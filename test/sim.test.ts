/** All of `test/sim`. */
import { testFolder } from "./run-folder.js";

await testFolder("sim");
