import { createClient } from '@tollgate-gateway/client';

const client = createClient({ baseUrl: process.env.TOLLGATE_URL, apiKey: process.env.TOLLGATE_KEY });

const reply = await client.POST('/v1/chat/completions', {
  body: { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] },
});
if (reply.error) throw new Error(reply.error.error.message);
const id = reply.response.headers.get('x-request-id') ?? '';
const bill = await client.GET('/v1/requests/{id}', { params: { path: { id } } });
const balance = await client.GET('/v1/balance');
console.log(JSON.stringify({ cost: bill.data?.settlement?.cost_pico_usd, balance: balance.data?.balance_pico_usd }));
