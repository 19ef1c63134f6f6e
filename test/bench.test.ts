/** All of `test/bench`. */
import { testFolder } from "./folder.js";

await testFolder("bench");
