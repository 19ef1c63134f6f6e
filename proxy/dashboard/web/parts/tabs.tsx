/** Tabs of a page: links, since each has an address of its own. */

interface Tab {
  readonly key: string;
  readonly text: string;
  readonly href: string;
}

export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ key, text, href }) => (
        <a key={key} class="tab" href={href} aria-current={key === current ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
