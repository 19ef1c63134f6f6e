/** All of `test/end-to-end/hostile`. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/hostile", { oneByOne: true });
