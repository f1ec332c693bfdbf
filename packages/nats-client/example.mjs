import { connectTollgate } from '@tollgate-gateway/nats-client';

const tollgate = await connectTollgate({ servers: process.env.NATS_URL, user: 'internal', pass: process.env.NATS_INTERNAL_PASSWORD });
try {
  const { models } = await tollgate.request('catalog.v1.model.list', {});
  console.log(JSON.stringify({ models: models.map(({ id }) => id) }));
} finally {
  await tollgate.close();
}
