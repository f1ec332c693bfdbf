import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { messageClasses } from './message-classes.js';

test('a message has the prototype that Express sets, and its methods, before Express sets it', async () => {
  const application = express();
  const before: unknown[] = [];
  application.use((request, response) => {
    response.json([request, response].map((message, at) => Object.getPrototypeOf(message) === before[at]));
  });
  const server = createServer(messageClasses(application), (request, response) => {
    before.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
    application(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await reply.json()).toEqual([true, true]);
  server.close();
});
