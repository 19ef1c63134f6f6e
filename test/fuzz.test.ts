/** All of `test/fuzz`. */
import { testFolder } from "./folder.js";

await testFolder("fuzz");
