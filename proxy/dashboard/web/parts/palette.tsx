/** The search that opens a page, a tenant, a key, a limit, a budget or a request. */
import { useEffect, useId, useState } from "preact/hooks";
import type { BudgetItem, BudgetList } from "../../../../shared/api/budget-item.js";
import type { KeyPage } from "../../../../shared/api/key-item.js";
import type { RequestDetail } from "../../../../shared/api/request-item.js";
import type { RuleItem, RuleList } from "../../../../shared/api/rule-item.js";
import type { TenantList } from "../../../../shared/api/tenant-item.js";
import type { GatewayClient } from "../data/gateway-client.js";
import { hrefOf, tenantHref } from "../data/router.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";

const texts = shellTexts.palette;
const typingPauseMs = 150;
/** How many results each list may have. */
const resultsPerList = 5;

interface SearchResult {
  readonly kind: keyof typeof texts.kinds;
  readonly text: string;
  /** Distinguishes it from others with the same name; null if the name is unique. */
  readonly note: string | null;
  readonly href: string;
}

interface PaletteProps {
  readonly pages: readonly Pick<SearchResult, "text" | "href">[];
  readonly onClose: () => void;
}

export function Palette({ pages, onClose }: PaletteProps) {
  const { client, router, session } = useApp();
  const [text, setText] = useState("");
  const [places, setPlaces] = useState<readonly SearchResult[]>([]);
  const [selected, setSelected] = useState(0);
  const listId = useId();
  const asksGateway = session.session.value?.kind !== "self";
  const words = text.trim();
  useEffect(() => {
    if (words === "" || !asksGateway) return setPlaces([]);
    const asking = new AbortController();
    const timer = setTimeout(() => {
      void search(client, words, asking.signal).then((results) => {
        if (!asking.signal.aborted) setPlaces(results);
      });
    }, typingPauseMs);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [words, asksGateway, client]);
  const results = [
    ...pages
      .filter((page) => page.text.toLowerCase().includes(words.toLowerCase()))
      .map((page): SearchResult => ({ ...page, kind: "page", note: null })),
    ...places,
  ];
  const current = Math.min(selected, results.length - 1);
  const go = ({ href }: SearchResult): void => {
    onClose();
    router.go(href);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const chosen = results[current];
    if (step !== 0) setSelected((current + step + results.length) % Math.max(1, results.length));
    else if (event.key === "Enter" && chosen !== undefined) go(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <div class="search">
        <Icon name="search" />
        <input
          class="input"
          data-first="true"
          role="combobox"
          aria-label={texts.label}
          aria-expanded={results.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={results.length === 0 ? undefined : `${listId}-${current}`}
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.label}
          value={text}
          onKeyDown={onKey}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setSelected(0);
          }}
        />
      </div>
      <p class="visually-hidden" role="status">
        {texts.count(results.length)}
      </p>
      <div class="found" role="listbox" id={listId} aria-label={texts.title} tabIndex={-1}>
        {results.map((place, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={`${place.kind} ${place.href} ${place.text}`}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === current}
            tabIndex={-1}
            ref={(item) => {
              if (i === current) item?.scrollIntoView({ block: "nearest" });
            }}
            onClick={() => go(place)}
          >
            <bdi>{place.text}</bdi>
            <span class="soft small">
              {[texts.kinds[place.kind], place.note].filter((part) => part !== null).join(" · ")}
            </span>
          </div>
        ))}
      </div>
      {results.length === 0 && <p class="soft">{texts.none}</p>}
    </Dialog>
  );
}

/** Searches the gateway's lists. A list that can't be requested yields nothing. */
async function search(
  client: GatewayClient,
  words: string,
  signal: AbortSignal,
): Promise<readonly SearchResult[]> {
  const ask = async <T,>(path: string): Promise<T | null> => {
    const answer = await client.get<T>(path, signal);
    return answer.ok ? answer.body : null;
  };
  const parameters = `search=${encodeURIComponent(words)}&limit=${resultsPerList}`;
  const isRequestId = /^req_\S+$|^[\w-]{12,}$/.test(words);
  const [request, tenants, keys, rules, budgets] = await Promise.all([
    isRequestId ? ask<RequestDetail>(`/admin/requests/${encodeURIComponent(words)}`) : null,
    ask<TenantList>(`/admin/tenants?flat=true&${parameters}`),
    ask<KeyPage>(`/admin/auth-keys?${parameters}`),
    ask<RuleList>(`/admin/rate-limits?${parameters}`),
    ask<BudgetList>(`/admin/budgets?${parameters}`),
  ]);
  const requestFound = (id: string): SearchResult => ({
    kind: "request",
    text: id,
    note: null,
    href: hrefOf("requests", { id }),
  });
  const limitFound = (kind: "limit" | "budget", limit: RuleItem | BudgetItem): SearchResult => {
    const { scope, subject, period_label } = limit;
    const query = { scope: scope === "user_path" ? null : scope, search: subject };
    return { kind, text: subject, note: period_label, href: hrefOf(`${kind}s`, query) };
  };
  return [
    ...(request === null ? [] : [requestFound(request.request_id)]),
    ...(tenants?.tenants ?? []).map(
      ({ user_path: path }): SearchResult => ({
        kind: "tenant",
        text: path,
        note: null,
        href: tenantHref(path),
      }),
    ),
    ...(keys?.auth_keys ?? []).map(
      ({ id, name }): SearchResult => ({
        kind: "key",
        text: name ?? id,
        note: name === null ? null : id,
        href: hrefOf("keys", { search: id }),
      }),
    ),
    ...(rules?.rate_limits ?? []).map((rule) => limitFound("limit", rule)),
    ...(budgets?.budgets ?? []).map((budget) => limitFound("budget", budget)),
  ];
}
