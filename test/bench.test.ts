/** All of `test/bench`. */
import { testFolder } from "./run-folder.js";

await testFolder("bench");
