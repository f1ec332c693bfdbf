/** Pages of the site by the reader's job. A pattern stands for all pages of a folder that no other entry names. */
export const SIDEBAR: { title: string; pages: string[] }[] = [
  { title: 'Start', pages: ['start', 'glossary'] },
  { title: 'Concepts', pages: ['architecture', 'money', 'settlement', 'model', 'money-conformance', 'comparison'] },
  { title: 'Guide: developer of a client', pages: ['guides/client-developer', 'use-with/README', 'use-with/*', 'protocols'] },
  {
    title: 'Guide: platform team',
    pages: [
      ...['guides/platform-team', 'upstreams', 'credentials', 'dialects', 'governance', 'tenants', 'panel', 'security'],
      ...['deployment', 'kubernetes', 'scale', 'frontier', 'observability', 'tracing', 'restore', 'upgrading'],
    ],
  },
  { title: 'Guide: internal service', pages: ['guides/internal-service', 'services', 'nats-api', 'webhooks'] },
  { title: 'Guide: finance', pages: ['guides/finance', 'balances', 'payments', 'journals', 'receipts'] },
  {
    title: 'Reference',
    pages: [
      ...['api', 'reference/http-api', 'reference/panel-api', 'reference/nats-messages', 'reference/tenants-file'],
      ...['operations', 'metrics', 'permissions', 'pairs'],
    ],
  },
  { title: 'Runbooks', pages: ['runbooks'] },
  {
    title: 'Project',
    pages: [
      'changelog',
      'contributing',
      'adding-a-format',
      'reporting-vulnerabilities',
      'stability',
      'releasing',
      'conformance-kit',
      'benchmarks',
    ],
  },
  { title: 'Decisions', pages: ['decisions/*'] },
];

/** Returns the groups with every pattern replaced by the pages of its folder, in order of their names. */
export function expandSidebar(pages: string[], sidebar = SIDEBAR): { title: string; pages: string[] }[] {
  const named = new Set(sidebar.flatMap((group) => group.pages));
  return sidebar.map((group) => ({
    title: group.title,
    pages: group.pages.flatMap((entry) => {
      if (!entry.endsWith('/*')) return [entry];
      return pages.filter((page) => page.startsWith(entry.slice(0, -1)) && !named.has(page)).sort();
    }),
  }));
}
