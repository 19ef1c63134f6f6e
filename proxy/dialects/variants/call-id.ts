/** The ids of tool calls, for hosts that take only nine letters and digits, or no long ids. */

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The same for the same id, so that a result finds its call. */
export function nineCharacterId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let i = 0; i < id.length; i++) {
    high = Math.imul(high ^ id.charCodeAt(i), 0x01000193) >>> 0;
    low = Math.imul(low + id.charCodeAt(i), 0x85ebca6b) ^ (low >>> 13);
  }
  let rest = (BigInt(high) << 32n) | BigInt(low >>> 0);
  let text = "";
  for (let i = 0; i < 9; i++) {
    text += digits[Number(rest % 62n)]!;
    rest /= 62n;
  }
  return text;
}

/** 40 characters at most, as OpenAI takes them; different for ids with the same beginning. */
export function shortCallId(id: string): string {
  if (id.length <= 40) return id;
  return `${id.slice(0, 30)}_${nineCharacterId(id)}`;
}
