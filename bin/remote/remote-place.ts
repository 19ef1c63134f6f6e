/**
 * The remote gateway of a command: `--url` or SLUICE_URL. Flags that name the daemon of this host
 * override the variable. Pure; reading the key is in `open-remote.ts`.
 */
import { show } from "../../shared/checked.js";
import { remoteVariables } from "../../shared/config/settings/settings.js";

/** The flags that choose between a gateway elsewhere and the daemon of this host. */
interface PlaceFlags {
  readonly url?: string;
  readonly keyFile?: string;
  readonly socket?: string;
  readonly config?: string;
}

export interface RemotePlace {
  /** Without a trailing slash. */
  readonly url: string;
  /** Null if the key comes from the variables. */
  readonly keyFile: string | null;
}

/** Null for the daemon of this host. */
type ChosenPlace =
  | { readonly ok: true; readonly place: RemotePlace | null }
  | { readonly ok: false; readonly message: string; readonly param: string };

export function chooseRemote(
  { url, keyFile, socket, config }: PlaceFlags,
  env: Readonly<Record<string, string | undefined>>,
): ChosenPlace {
  if (url !== undefined && socket !== undefined)
    return wrongPlace(
      "--url can't be combined with --socket: it names a gateway elsewhere",
      "--url",
    );
  const byVariable = socket === undefined && config === undefined ? env[remoteVariables.url] : "";
  const address = url ?? byVariable?.trim() ?? "";
  if (address === "" && url === undefined)
    return keyFile === undefined
      ? { ok: true, place: null }
      : wrongPlace("--key-file is for a gateway elsewhere: give --url too", "--key-file");
  const name = url === undefined ? remoteVariables.url : "--url";
  const problem = urlProblem(address);
  if (problem !== null) return wrongPlace(`${name} ${problem}`, name);
  const { origin, pathname } = new URL(address);
  return {
    ok: true,
    place: { url: `${origin}${pathname.replace(/\/+$/, "")}`, keyFile: keyFile ?? null },
  };
}

/** Whether requests to it cross a network unencrypted. */
export function isInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

const expected = "must be the address of a gateway, such as https://gateway.example:8080";

function urlProblem(text: string): string | null {
  const parsed = URL.canParse(text) ? new URL(text) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return `${expected}, not ${show(withoutSecrets(text))}`;
  if (parsed.username !== "" || parsed.password !== "")
    return `${expected}, without a key in it: put that into ${remoteVariables.key}`;
  if (parsed.search !== "" || parsed.hash !== "")
    return `${expected}, without a query, not ${show(text)}`;
  if (/\/(?:v1|admin|dashboard)\/*$/.test(parsed.pathname))
    return `${expected}, without the path of an endpoint, not ${show(text)}`;
  return null;
}

/** The text before an @ may be a password. */
function withoutSecrets(text: string): string {
  return text.replace(/^.*@/s, "…@");
}

function wrongPlace(message: string, param: string): ChosenPlace {
  return { ok: false, message, param };
}
