/** All of `test/mutation`. */
import { testFolder } from "./folder.js";

await testFolder("mutation");
