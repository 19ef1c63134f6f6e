import t from "tap";
import { embeddingsInBase64 } from "../../../proxy/upstream/embeddings-in-base64.js";

t.test("lists of numbers become base64, and every other byte stays", async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"data":[{"embedding": [0.5,-0.25]}]}', '{"data":[{"embedding": "AAAAPwAAgL4="}]}'],
    ['{"data":[{"embedding":[]}], "x":1}', '{"data":[{"embedding":""}], "x":1}'],
    ['{"embedding":[1e999]}', '{"embedding":[1e999]}'],
    ['{"embedding":[0.5,]}', '{"embedding":[0.5,]}'],
    ['{"embedding":[[0.5],[1]]}', '{"embedding":[[0.5],[1]]}'],
    ['{"embedding":["a"]}', '{"embedding":["a"]}'],
    ['{"embedding":"AAAAPw=="}', '{"embedding":"AAAAPw=="}'],
  ];
  for (const [given, expected] of cases) t.equal(embeddingsInBase64(given), expected);
});
