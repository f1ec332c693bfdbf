import { type DynamicModule, Module } from '@nestjs/common';
import { Applier } from './apply/applier.js';
import { CatalogController } from './catalog.controller.js';
import { Snapshot } from './snapshot.js';

@Module({ controllers: [CatalogController] })
class CatalogModule {}

/** Gives the framework what `start-catalog.ts` made; lifetimes stay there. */
export function catalogModule(parts: { snapshot: Snapshot; applier: Applier }): DynamicModule {
  return {
    module: CatalogModule,
    providers: [
      { provide: Snapshot, useValue: parts.snapshot },
      { provide: Applier, useValue: parts.applier },
    ],
  };
}
