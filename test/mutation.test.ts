/** All of `test/mutation`. */
import { testFolder } from "./run-folder.js";

await testFolder("mutation");
