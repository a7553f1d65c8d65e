// Writes tests/character/spring_values.json: what three-vrm's spring bones do at 60 Hz, over five
// seconds of the drive that tests/character/test_character_springs.c repeats.
//   npm install three@0.170 @pixiv/three-vrm@3      (in a folder of its own)
//   node make_spring_values.mjs DATA OUT.json       (from that folder)
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [data, out] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(process.cwd(), 'node_modules', path)).href);
const THREE = await load('three/build/three.module.js');
const { GLTFLoader } = await load('three/examples/jsm/loaders/GLTFLoader.js');
const { VRMSpringBoneLoaderPlugin } = await load(
  '@pixiv/three-vrm-springbone/lib/three-vrm-springbone.module.js');

// Nodes and extensions only: surfaces and pictures need a browser and say nothing about springs.
function skeleton(path) {
  const bytes = readFileSync(path);
  const glb = bytes.readUInt32LE(0) === 0x46546c67;
  const json = JSON.parse(glb ? bytes.subarray(20, 20 + bytes.readUInt32LE(12)) : bytes);
  for (const key of ['meshes', 'skins', 'materials', 'textures', 'images', 'samplers', 'accessors',
    'bufferViews', 'buffers', 'animations', 'cameras']) delete json[key];
  for (const node of json.nodes) { delete node.mesh; delete node.skin; delete node.camera; }
  json.extensionsUsed = Object.keys(json.extensions ?? {});
  delete json.extensionsRequired;
  return json;
}

const FILES = [
  { file: 'vrm/three-vrm/sphere-collider.gltf', move: 5 },
  { file: 'vrm/three-vrm/plane-collider.gltf', move: 5 },
  { file: 'vrm/three-vrm/inside-collider.gltf', move: 5 },
  { file: 'vrm/Godette_vrm_v4.vrm', turn: 'head_Armature' },
];

const values = [];
for (const { file, move, turn } of FILES) {
  const json = skeleton(join(data, file));
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMSpringBoneLoaderPlugin(parser));
  const gltf = await new Promise((ok, no) => loader.parse(JSON.stringify(json), '', ok, no));
  const nodes = await gltf.parser.getDependencies('node');
  const manager = gltf.userData.vrmSpringBoneManager;
  const place = new THREE.Group();
  place.add(gltf.scene);
  place.updateMatrixWorld(true);
  manager.setInitState();
  manager.reset();
  // A bone's length is measured to its child, whose matrix still holds what it was before the
  // parent turned; brought up to date first, the length is the specification's constant.
  for (const joint of manager.joints) {
    const update = joint.update.bind(joint);
    joint.update = (delta) => { joint.child?.updateWorldMatrix(false, false); update(delta); };
  }
  const joints = [...manager.joints].map((j) => nodes.indexOf(j.bone)).sort((a, b) => a - b);
  const turned = turn ? nodes[json.nodes.findIndex((n) => n.name === turn)] : null;
  const moved = move === undefined ? null : nodes[move];
  const start = moved?.position.clone();
  const entry = { file, turn: turned ? nodes.indexOf(turned) : -1, move: move ?? -1, joints, rotations: [] };
  for (let tick = 0; tick <= 300; tick++) {
    const t = tick / 60;
    place.position.set(0.6 * Math.sin(2.1 * t), 0.1 * Math.sin(3.3 * t), 0.4 * Math.sin(1.3 * t));
    place.rotation.set(0, 1.2 * Math.sin(0.9 * t), 0);
    if (turned) turned.quaternion.setFromAxisAngle(new THREE.Vector3(0, 0, 1), 0.5 * Math.sin(4 * t));
    if (moved) moved.position.copy(start).add(new THREE.Vector3(0.2 * Math.sin(t), 0, 0));
    place.updateMatrixWorld(true);
    if (tick > 0) manager.update(1 / 60);
    if (tick % 6 === 0)
      entry.rotations.push(joints.flatMap((j) => nodes[j].quaternion.toArray().map((v) => +v.toFixed(6))));
  }
  values.push(entry);
}
writeFileSync(out, `${JSON.stringify(values)}\n`);
