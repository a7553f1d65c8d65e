import * as THREE from 'three';
import type { Performer } from './performer.js';
import { element, make, title } from './page.js';

// Names over heads, in a scene that is shared.

const ABOVE = 0.06; // of the height

export class Labels {
  private readonly root = element('labels');
  private readonly shown = new Map<string, HTMLElement>();

  constructor(private readonly camera: THREE.Camera) {}

  /** In the animation frame, after the meshes. */
  place(performers: readonly Performer[]): void {
    const seen = new Set<string>(), at = new THREE.Vector3();
    for (const [index, performer] of performers.entries()) {
      for (const [id, mesh] of performer.meshes) {
        const actor = performer.client.actors.get(id);
        if (!actor || !mesh.frame || mesh.bounds.isEmpty()) continue;
        const key = `${index}.${id}`, label = this.labelOf(key, actor.name || title(actor.character));
        seen.add(key);
        mesh.bounds.getCenter(at).add(performer.group.position);
        at.y = mesh.bounds.max.y + ABOVE * (mesh.bounds.max.y - mesh.bounds.min.y);
        at.project(this.camera);
        label.hidden = at.z > 1 || Math.abs(at.x) > 1.1 || Math.abs(at.y) > 1.1;
        label.style.transform = `translate(-50%, -100%) translate(${(at.x + 1) / 2 * innerWidth}px, ${(1 - at.y) / 2 * innerHeight}px)`;
      }
    }
    for (const [key, label] of this.shown) {
      if (seen.has(key)) continue;
      label.remove();
      this.shown.delete(key);
    }
  }

  private labelOf(key: string, text: string): HTMLElement {
    let label = this.shown.get(key);
    if (!label) {
      this.shown.set(key, label = make('p', {}));
      this.root.append(label);
    }
    if (label.textContent !== text) label.textContent = text;
    return label;
  }
}
