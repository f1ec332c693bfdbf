import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { ESTIMATED_BODY_MAX, ESTIMATED_FORMATS, type EstimateRequest, type RequestEstimate, requestEstimate } from '#contracts/gateway.js';
import { command } from '../command.js';
import { accountId, argument, oneOf, optional, text } from '../parameters.js';
import { readAccountPlan } from '../read-account-plan.js';
import { renderFields, renderMoney, renderPinnedPrice } from '../render.js';
import { UsageError } from '../usage-error.js';

export const estimateCommands = [
  command({
    name: 'estimate',
    summary: 'Show what a request would hold, at which price and with which output cap, without running it',
    parameters: {
      file: argument(text(500, 'file'), 'the body of the request; - reads standard input'),
      format: optional(oneOf(ESTIMATED_FORMATS, 'format'), 'format of the body; default chat'),
      account: optional(accountId, 'account whose price plan counts; default: list prices'),
    },
    examples: ['estimate body.json', 'estimate body.json --format messages --account acme'],
    endpoint: requestEstimate,
    request: async ({ file, format = 'chat' }): Promise<EstimateRequest> => ({ protocol: format, body: await readBody(file) }),
    prepare: async (request, { account }, messaging) => ({
      ...request,
      pricePlan: account && (await readAccountPlan(messaging, account)),
    }),
    render: renderEstimate,
  }),
];

async function readBody(file: string): Promise<string> {
  const body = await (file === '-' ? readText(process.stdin) : readFile(file, 'utf8')).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file}: ${error.code === 'ENOENT' ? 'no such file' : error.code}`);
  });
  if (body.length === 0 || body.length > ESTIMATED_BODY_MAX) {
    throw new UsageError(`${file} must have 1 to ${ESTIMATED_BODY_MAX} characters, it has ${body.length}`);
  }
  return body;
}

function renderEstimate({ model, price, promptTokensMax, promptTokensEstimate, outputTokensMax, heldPicoUsd }: RequestEstimate): string {
  return renderFields({
    model,
    'price per million': renderPinnedPrice(price),
    prompt: `at most ${promptTokensMax} tokens, about ${promptTokensEstimate}`,
    output: `at most ${outputTokensMax} tokens`,
    'would hold': `${renderMoney(heldPicoUsd)}, the most it can cost`,
  });
}
