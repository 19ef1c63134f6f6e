/** All of `test/fuzz`. */
import { testFolder } from "./run-folder.js";

await testFolder("fuzz");
