import type { Server } from 'node:http';
import { addressGroup } from '#network/address-group.js';
import { plainAddress } from '#observability/client-address.js';
import { Places } from './places.js';

/** Share of all connections that one address, or one /64 network of IPv6, may have. */
const SHARE = 1 / 4;

/**
 * Limits the connections of a server, and those of each address to a quarter of them. Behind trusted proxies, whose connections serve all
 * clients, only the first limit applies.
 */
export function limitConnections(server: Server, connectionsMax: number, trustedProxyHops: number): void {
  server.maxConnections = connectionsMax;
  if (trustedProxyHops > 0) return;
  const shareMax = Math.max(1, Math.floor(connectionsMax * SHARE));
  const open = new Places(shareMax);
  server.on('connection', (socket) => {
    const leave = open.enter(addressGroup(plainAddress(socket.remoteAddress)));
    if (leave) socket.once('close', leave);
    else socket.destroy();
  });
}
