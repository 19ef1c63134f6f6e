/** All of `test/end-to-end/usage`. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/usage", { oneByOne: true });
