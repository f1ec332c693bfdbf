import { headingAnchor } from './heading-anchor.ts';
import { type LinkTargets, rewriteLinks } from './page-links.ts';

const targets: LinkTargets = {
  pages: new Map([
    ['docs/api.md', 'api'],
    ['docs/use-with/README.md', 'use-with/README'],
    ['docs/use-with/pi.md', 'use-with/pi'],
    ['CHANGELOG.md', 'changelog'],
  ]),
  files: new Map([['docs/openapi.json', 'openapi.json']]),
};
const REPOSITORY = 'https://forge.example.com/us/tollgate/blob/main';

/** Rewrites a page of docs/use-with. */
function rewrite(markdown: string, repository?: string): string {
  return rewriteLinks(markdown, { path: 'docs/use-with/pi.md', name: 'use-with/pi', targets: { ...targets, repository } });
}

test.each([
  ['to a page', '[API](../api.md#errors)', '[API](../api.md#errors)'],
  ['to a page outside docs', '[changes](../../CHANGELOG.md)', '[changes](../changelog.md)'],
  ['to a README', '[all](README.md#tests)', '[all](index.md#tests)'],
  ['to a folder with a README', '[all](../use-with)', '[all](index.md)'],
  ['to a served file', '[`it`](../openapi.json)', '[`it`](/openapi.json)'],
  ['to itself and to the outside', '[a](#b) [c](https://example.com/d.md)', '[a](#b) [c](https://example.com/d.md)'],
  ['over two lines', '[a\nb](../../CHANGELOG.md)', '[a\nb](../changelog.md)'],
  [
    'within code',
    '`[a](../../CHANGELOG.md)`\n\n```\n[a](../../CHANGELOG.md)\n```',
    '`[a](../../CHANGELOG.md)`\n\n```\n[a](../../CHANGELOG.md)\n```',
  ],
])('rewrites a link %s', (_, markdown, expected) => {
  expect(rewrite(markdown)).toBe(expected);
});

test('a link to a file of the repository leads to the forge, and without a forge is its text', () => {
  const markdown = 'See [`nats.conf`](../../config/nats.conf) and [bench](../../bench/).';
  expect(rewrite(markdown, REPOSITORY)).toBe(`See [\`nats.conf\`](${REPOSITORY}/config/nats.conf) and [bench](${REPOSITORY}/bench).`);
  expect(rewrite(markdown)).toBe('See `nats.conf` and bench.');
});

test('a picture with a dark version becomes an image for each scheme', () => {
  const image = (scheme: string) => `${REPOSITORY}/docs/images/a-${scheme}.png`;
  const markdown =
    '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="../images/a-dark.png">\n  <img alt="A" src="../images/a-light.png">\n</picture>';
  expect(rewrite(markdown, REPOSITORY)).toBe(
    `<img class="for-light" alt="A" src="${image('light')}">\n<img class="for-dark" alt="A" src="${image('dark')}">`,
  );
});

test.each([
  ['Models: `GET /v1/models` and `GET /v1/models/{id}`', 'models-get-v1models-and-get-v1modelsid'],
  ['Use Tollgate with …', 'use-tollgate-with-'],
  ['From 0.1.0', 'from-010'],
])('the anchor of "%s" is the forge’s', (heading, anchor) => {
  expect(headingAnchor(heading)).toBe(anchor);
});
