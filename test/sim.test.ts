/** All of `test/sim`. */
import { testFolder } from "./folder.js";

await testFolder("sim");
