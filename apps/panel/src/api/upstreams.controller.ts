import { Controller } from '@nestjs/common';
import { routeStatus } from '#contracts/route-status.js';
import { Handles } from '../http/handles.decorator.js';
import { Services } from '../services/services.js';
import type { UpstreamsReply } from './shapes/upstreams.js';

/** Replicas answer at once; one that does not is down. */
const ANSWER_MS = 3_000;

@Controller()
export class UpstreamsController {
  constructor(private readonly services: Services) {}

  @Handles('listUpstreams')
  async list(): Promise<UpstreamsReply> {
    const replicas = await this.services.askEvery(routeStatus, {}, ANSWER_MS);
    return { replicas: replicas.sort((one, other) => one.replica.localeCompare(other.replica)) };
  }
}
