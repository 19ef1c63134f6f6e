/**
 * IP addresses and networks: which network contains an address, and to which client it counts. An
 * IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) is the IPv4 address.
 */

export interface IpAddress {
  readonly bits: 32 | 128;
  readonly address: bigint;
}

/** All addresses with the same first `prefix` bits. */
export interface Network extends IpAddress {
  readonly prefix: number;
}

const v4Shape = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const v6Shape = /^[0-9a-f:]{2,39}(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?$/i;
const charsMax = 45;
/** `::ffff:0:0/96`. */
const mappedV4 = 0xffffn;

/** Null for a text that isn't an address, such as a name, or has a port or a zone. */
export function parseIpAddress(text: string): IpAddress | null {
  if (text.length > charsMax) return null;
  if (v4Shape.test(text)) return parseV4(text);
  if (!v6Shape.test(text) || !URL.canParse(`http://[${text}]`)) return null;
  // A URL normalizes it: no dots, the longest run of zeros as `::`.
  const [head = "", tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  const address = [...before, ...zeros, ...after].reduce(
    (sum, group) => (sum << 16n) | BigInt(`0x${group}`),
    0n,
  );
  return address >> 32n === mappedV4
    ? { bits: 32, address: address & 0xffff_ffffn }
    : { bits: 128, address };
}

function parseV4(text: string): IpAddress | null {
  const bytes = text.split(".");
  // Leading zeros are ambiguous: they may mean octal.
  if (!bytes.every((byte) => Number(byte) <= 255 && String(Number(byte)) === byte)) return null;
  return { bits: 32, address: bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) };
}

function groupsOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(":");
}

/** An address, or a network with its prefix length, such as `10.0.0.0/8`. */
export function parseNetwork(text: string): Network | null {
  const [written = "", length] = text.trim().split("/", 2);
  const address = parseIpAddress(written);
  if (address === null || (text.match(/\//g) ?? []).length > 1) return null;
  if (length === undefined) return { ...address, prefix: address.bits };
  // The prefix length of a mapped address would refer to its IPv6 form.
  const isMapped = address.bits === 32 && written.includes(":");
  return /^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= address.bits && !isMapped
    ? { ...address, prefix: Number(length) }
    : null;
}

export function isInNetwork({ bits, address }: IpAddress, network: Network): boolean {
  const free = BigInt(network.bits - network.prefix);
  return bits === network.bits && address >> free === network.address >> free;
}

/**
 * One text per client. For IPv6 only the first 64 bits: a host may use any address in that network.
 */
export function clientGroup({ bits, address }: IpAddress): string {
  return bits === 32 ? `4:${address.toString(16)}` : `6:${(address >> 64n).toString(16)}`;
}

/** Loopback, private, link-local and shared addresses (RFC 6890), and those of IPv6. */
const privateNetworks: readonly Network[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "100.64.0.0/10",
  "::/127",
  "fc00::/7",
  "fe80::/10",
].map((text) => parseNetwork(text)!);

export function isPrivateAddress(address: IpAddress): boolean {
  return privateNetworks.some((network) => isInNetwork(address, network));
}
