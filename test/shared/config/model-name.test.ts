import fc from "fast-check";
import t from "tap";
import { modelName, modelSubjects, typesOf } from "../../../shared/config/model-name.js";
import { providerTypes } from "../../../shared/config/provider-type.js";

t.test("what a type of provider takes as understood isn't in the name", async (t) => {
  const table = [
    ["gemini", "models/gemini-2.5-flash", "gemini-2.5-flash"],
    ["gemini", " models/models/gemini-2.5-flash ", "gemini-2.5-flash"],
    ["gemini", "tunedModels/mine", "tunedModels/mine"],
    ["gemini", "models/", "models/"],
    ["ollama", "llama3:latest", "llama3"],
    ["ollama", "llama3:LATEST", "llama3"],
    ["ollama", "llama3:8b", "llama3:8b"],
    ["ollama", "library/llama3", "llama3"],
    ["ollama", "https://registry.ollama.ai/library/llama3:latest", "llama3"],
    ["ollama", "registry.ollama.ai/me/own:latest", "me/own"],
    ["ollama", "example.com/library/llama3", "example.com/library/llama3"],
    ["ollama", ":latest", ":latest"],
    ["ollama", "models/ :latest", "models/"],
    ["ollama", "x:latest:latest", "x"],
    ["gemini", "models/ models/x", "x"],
    ["openai", "models/gpt-4o:latest\n", "models/gpt-4o:latest"],
    ["azure", "My-Deployment", "My-Deployment"],
  ] as const;
  for (const [type, written, name] of table) t.equal(modelName(type, written), name, written);
});

t.test("a name's name is itself, and it is never empty", async () => {
  const parts = ["models/", "library/", "registry.ollama.ai/", "http://", ":latest", " ", "x", "/"];
  fc.assert(
    fc.property(
      fc.constantFrom(...providerTypes),
      fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }),
      (type, written) => {
        const name = modelName(type, written.join(""));
        return modelName(type, name) === name && (name !== "") === (written.join("").trim() !== "");
      },
    ),
  );
});

t.test("a subject is a provider's model by its name, or one at all providers", async (t) => {
  const types = typesOf([
    { name: "Google", type: "gemini" },
    { name: "openai", type: "openai" },
    { name: "local", type: "ollama" },
  ]);
  const table = [
    ["google/models/Gemini-2.5", ["google/gemini-2.5"]],
    ["openai/models/x", ["openai/models/x"]],
    ["GPT-4o", ["gpt-4o"]],
    ["models/x", ["models/x", "google/x"]],
    ["Llama3:latest", ["llama3:latest", "local/llama3"]],
    ["meta/llama-3", ["meta/llama-3"]],
  ] as const;
  for (const [subject, subjects] of table) t.same(modelSubjects(subject, types), subjects, subject);
});
