import { createPanelClient } from '@tollgate-gateway/panel-client';

const panel = createPanelClient({ baseUrl: process.env.TOLLGATE_PANEL_URL, token: process.env.TOLLGATE_TOKEN });

const { data, error } = await panel.GET('/panel/v1/accounts');
if (error) throw new Error(error.error.message);
const accounts = data.accounts.map(({ name, balance }) => ({ name, balance: balance?.balance_pico_usd }));
console.log(JSON.stringify({ accounts }));
