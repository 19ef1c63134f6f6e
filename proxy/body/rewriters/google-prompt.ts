/** The positions of a prompt's texts in a body of Gemini's own API. */
import { type JsonItem, type JsonMember, scanObject } from "../scan-json.js";
import {
  addString,
  type Instruction,
  itemsOf,
  membersOf,
  onlyMember,
  type PromptText,
  stringOf,
} from "./prompt-places.js";

type Members = readonly JsonMember[];

/** `body` must be a JSON object. Google reads names in camel case and with underscores. */
export function addGooglePrompt(
  body: string,
  texts: PromptText[],
  instructions: Instruction[],
): void {
  const outer = scanObject(body);
  // A request to count tokens may have it within.
  const within = either(outer, "generateContentRequest", "generate_content_request");
  const top = within === null ? outer : membersOf(body, within);
  const system = either(top, "systemInstruction", "system_instruction");
  for (const { item, after } of partsOf(body, system)) {
    const members = membersOf(body, item);
    addString(body, onlyMember(members, "text"), "system", texts);
    if (members.length === 1 && members[0]!.key === "text")
      instructions.push({ start: item.start, end: item.end, after });
  }
  for (const { item } of itemsOf(body, onlyMember(top, "contents"))) {
    const role = stringOf(body, onlyMember(membersOf(body, item), "role"));
    if (role === "model") continue;
    for (const { item: part } of partsOf(body, item)) addPart(body, part, texts);
  }
}

function addPart(body: string, part: JsonItem, texts: PromptText[]): void {
  const members = membersOf(body, part);
  addString(body, onlyMember(members, "text"), "user", texts);
  const result = either(members, "functionResponse", "function_response");
  if (result === null) return;
  const response = onlyMember(membersOf(body, result), "response");
  if (response === null) return;
  const fields = membersOf(body, response);
  for (const { key } of fields) addString(body, onlyMember(fields, key), "tool", texts);
}

function partsOf(body: string, content: JsonItem | null): ReturnType<typeof itemsOf> {
  return content === null ? [] : itemsOf(body, onlyMember(membersOf(body, content), "parts"));
}

/** Null if both are there: which one Google reads isn't known. */
function either(members: Members, name: string, other: string): JsonMember | null {
  const found = members.filter(({ key }) => key === name || key === other);
  return found.length === 1 ? found[0]! : null;
}
