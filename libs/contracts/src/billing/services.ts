import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';

/** Use that a service makes of its ceilings, of all accounts together. */
export interface ServiceUse {
  service: string;
  /** Start of the present day (UTC), of which `spentPicoUsd` is. */
  day: string;
  /** Cost of what was settled on the day. */
  spentPicoUsd: string;
  heldPicoUsd: string;
  openHolds: number;
}

export interface ServiceListReply {
  /** Services that have ever reserved, by name. */
  services: ServiceUse[];
}

export const serviceList = new Endpoint<EmptyRequest, ServiceListReply>('billing.v1.service.list', EmptyRequest, {
  about: 'Internal services with what they spent today, hold and have open',
});
