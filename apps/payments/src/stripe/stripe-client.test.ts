import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { ConnectProxy } from '#testing/connect-proxy.js';
import { FakeStripe, STRIPE_KEY } from '#testing/fake-stripe.js';
import { createStripe, describeStripeError } from './stripe-client.js';

const CREDENTIALS = 'ada:quiet-orange';

const fake = await FakeStripe.start();
let proxy: ConnectProxy;
beforeEach(async () => {
  const routes = { 'stripe.example:80': new URL(fake.url).host, 'api.stripe.com:443': new URL(fake.url).host };
  proxy = await ConnectProxy.start({ credentials: CREDENTIALS, routes });
});
afterEach(() => proxy.stop());
afterAll(() => fake.stop());

const settings = (credentials = CREDENTIALS, noProxy = 'none') => {
  const url = proxy.url.replace('//', `//${credentials}@`);
  return new ForwardProxies({ httpsProxy: url, httpProxy: url, noProxy });
};
const payment = () => fake.paid({ cents: 100 }).id;
/** Fields of the log for a call that fails. */
const failure = (stripe: ReturnType<typeof createStripe>) =>
  stripe.paymentIntents.retrieve('pi_1').then(() => undefined, describeStripeError);
const unconnected = (connection: string) => ({ stripe: { type: 'StripeConnectionError', connection } });

test('calls go through tunnels of the forward proxy, which gets the name and the credentials', async () => {
  const stripe = createStripe(STRIPE_KEY, 'http://stripe.example', settings());
  const id = payment();
  expect([(await stripe.paymentIntents.retrieve(id)).id, proxy.asked]).toEqual([id, ['stripe.example:80']]);
});

test('the proxy of https is asked for the API of Stripe, and sees nothing inside of TLS', async () => {
  const stripe = createStripe(STRIPE_KEY, 'https://api.stripe.com', settings());
  // What answers there speaks no TLS.
  expect(await failure(stripe)).toMatchObject({ stripe: { type: 'StripeConnectionError' } });
  expect([...new Set(proxy.asked)]).toEqual(['api.stripe.com:443']);
});

test('NO_PROXY has Stripe called directly', async () => {
  const stripe = createStripe(STRIPE_KEY, fake.url, settings(CREDENTIALS, '127.0.0.1'));
  const id = payment();
  expect([(await stripe.paymentIntents.retrieve(id)).id, proxy.asked]).toEqual([id, []]);
});

test('the log names what is wrong with the proxy, without credentials', async () => {
  const stripe = createStripe(STRIPE_KEY, 'http://stripe.example', settings('ada:wrong'));
  const words = `forward proxy 127.0.0.1:${proxy.port} does not accept our credentials: check those in HTTP_PROXY (407)`;
  expect(await failure(stripe)).toEqual(unconnected(words));
});

test('the log names the code of a failed connection', async () => {
  const gone = await FakeStripe.start();
  const { url } = gone;
  await gone.stop();
  expect(await failure(createStripe(STRIPE_KEY, url))).toEqual(unconnected('ECONNREFUSED'));
});
