import type { Format } from './agent.js';
import { testAgent } from './test-agent.js';

const PROVIDERS: Record<Format, string> = { chat: 'openai-compatible', responses: 'openai-native', messages: 'anthropic' };

/** Its tool for new files, where the provider is OpenAI's. */
function patchToAdd(path: string, text: string): string {
  const lines = text.split('\n').map((line) => `+${line}`);
  return ['*** Begin Patch', `*** Add File: ${path}`, ...lines, '*** End Patch'].join('\n');
}

await testAgent({
  ...{ name: 'Cline CLI', package: 'cline', version: '3.0.65', command: 'cline' },
  formats: ['chat', 'responses', 'messages'],
  configure: ({ format, gatewayUrl, apiKey, model }) => {
    const provider = PROVIDERS[format];
    return {
      files: {
        '.cline/data/settings/providers.json': JSON.stringify({
          ...{ version: 1, lastUsedProvider: provider, modes: {} },
          providers: {
            [provider]: {
              settings: { provider, apiKey, model, baseUrl: `${gatewayUrl}/v1` },
              ...{ updatedAt: '2026-11-28T00:00:00.000Z', tokenSource: 'manual' },
            },
          },
        }),
      },
      // Without its daemon, which outlives it.
      env: { CLINE_SESSION_BACKEND_MODE: 'local', NODE_NO_WARNINGS: '1' },
    };
  },
  invoke: (prompt, { format }) => ({ args: ['--provider', PROVIDERS[format], prompt] }),
  callToRead: (path) => `call read_files ${JSON.stringify({ files: [{ path }] })}`,
  callToWrite: (path, text, format) =>
    format === 'responses'
      ? `call apply_patch ${JSON.stringify({ input: patchToAdd(path, text) })}`
      : `call editor ${JSON.stringify({ path, new_text: text })}`,
  onOverflow: 'compacts-in-run',
});
