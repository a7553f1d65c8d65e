// Bullet's soft bodies as a plugin: a vendor's simulator behind the interface. The part of the
// surface is a soft body whose nodes follow the skin the more the less they are the part's own
// (`shares`), and hang free where they are wholly. Settings: `pull` (40, 1/s^2 in hundreds: how
// strongly the skin draws its flesh), `damping` (0.05), `stiffness` (0.6, of the links).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <btBulletDynamicsCommon.h>
#include <BulletSoftBody/btDefaultSoftBodySolver.h>
#include <BulletSoftBody/btSoftBodyHelpers.h>
#include <BulletSoftBody/btSoftBodyRigidBodyCollisionConfiguration.h>
#include <BulletSoftBody/btSoftRigidDynamicsWorld.h>

#include "server/character/surface/extras/plugin.h"

namespace {

const btScalar STEP_S = btScalar(1.0 / 120);

double number(const char *settings, const char *key, double otherwise)
{
    const char *at = std::strstr(settings, key);
    const char *colon = at ? std::strchr(at, ':') : nullptr;
    return colon ? std::strtod(colon + 1, nullptr) : otherwise;
}

struct Soft {
    btSoftBodyRigidBodyCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btSoftRigidDynamicsWorld world;
    btSoftBody *body = nullptr;
    std::vector<uint32_t> node;     // [vertex] of the body
    std::vector<btVector3> was, to; // [node] where the skin has it, before and now
    std::vector<float> freedom;     // [node]
    double pull, left_s = 0;

    Soft(const char *settings, const sinew_plugin_model *model)
        : dispatcher(&configuration),
          world(&dispatcher, &broadphase, &solver, &configuration),
          pull(100 * number(settings, "\"pull\"", 40))
    {
        std::vector<btScalar> places;
        std::vector<int> triangles;
        node.assign(model->vertex_count, 0);
        for (uint32_t v = 0; v < model->vertex_count; v++) {
            if (model->twins[v] != v) {
                node[v] = node[model->twins[v]];
                continue;
            }
            node[v] = uint32_t(places.size() / 3);
            places.insert(places.end(), model->positions + 3 * v, model->positions + 3 * v + 3);
            freedom.push_back(model->shares[v]);
        }
        for (uint32_t i = 0; i < 3 * model->triangle_count; i++)
            triangles.push_back(int(node[model->triangles[i]]));
        was.resize(freedom.size());
        to.resize(freedom.size());
        world.setGravity(btVector3(0, 0, 0));
        world.getWorldInfo().m_gravity = btVector3(0, 0, 0);
        world.getWorldInfo().m_maxDisplacement = 1e9;
        body = btSoftBodyHelpers::CreateFromTriMesh(world.getWorldInfo(), places.data(),
                                                    triangles.data(),
                                                    int(model->triangle_count), false);
        body->m_materials[0]->m_kLST = btScalar(number(settings, "\"stiffness\"", 0.6));
        body->m_cfg.kDP = btScalar(number(settings, "\"damping\"", 0.05));
        body->m_cfg.piterations = 2;
        body->m_cfg.collisions = 0;
        body->setTotalMass(btScalar(freedom.size()));
        world.addSoftBody(body);
    }
    ~Soft()
    {
        world.removeSoftBody(body);
        delete body;
    }
    void settle()
    {
        left_s = 0;
        for (size_t i = 0; i < to.size(); i++) {
            was[i] = to[i];
            btSoftBody::Node &n = body->m_nodes[int(i)];
            n.m_x = n.m_q = to[i];
            n.m_v = n.m_f = btVector3(0, 0, 0);
        }
    }
    // Links are as long as skinning has them: the skinned surface is at rest in every pose.
    void measure()
    {
        const btSoftBody::Node *first = &body->m_nodes[0];
        for (int i = 0; i < body->m_links.size(); i++) {
            btSoftBody::Link &l = body->m_links[i];
            l.m_rl = (to[size_t(l.m_n[0] - first)] - to[size_t(l.m_n[1] - first)]).length();
            l.m_c1 = l.m_rl * l.m_rl;
        }
    }
    void advance(double dt_s)
    {
        double taken = -left_s;
        left_s += dt_s;
        while (left_s >= STEP_S) {
            left_s -= STEP_S;
            taken += STEP_S;
            btScalar share = btScalar(std::fmin(taken / dt_s, 1));
            for (size_t i = 0; i < to.size(); i++) {
                btSoftBody::Node &n = body->m_nodes[int(i)];
                btVector3 at = was[i].lerp(to[i], share);
                btScalar free = freedom[i];
                // Implicitly towards the skin; at once where the part ends.
                btScalar k = btScalar(pull * STEP_S * STEP_S) / (free * free);
                n.m_v += (at - n.m_x) * (k / (1 + k)) / STEP_S;
            }
            world.stepSimulation(STEP_S, 0);
        }
        was = to;
    }
};

int describe(const char *settings, const sinew_plugin_model *model, sinew_plugin_needs *,
             char *message, uint64_t message_bytes)
{
    double pull = number(settings, "\"pull\"", 40);
    if (model->triangle_count == 0 || !(pull > 0 && pull < 1e6)) {
        std::snprintf(message, size_t(message_bytes), "it needs triangles, and pull above 0");
        return SINEW_PLUGIN_FAILED;
    }
    return SINEW_PLUGIN_OK;
}

int create(const char *settings, const sinew_plugin_model *model, void *, void **self, char *,
           uint64_t)
{
    *self = new (std::nothrow) Soft(settings, model);
    return *self ? SINEW_PLUGIN_OK : SINEW_PLUGIN_FAILED;
}

int step(void *self, const sinew_plugin_frame *frame)
{
    Soft &s = *static_cast<Soft *>(self);
    const btScalar c = btScalar(std::cos(frame->yaw)), sine = btScalar(std::sin(frame->yaw));
    btScalar furthest = 0;
    for (size_t v = 0; v < s.node.size(); v++) {
        const float *p = frame->positions + 3 * v;
        s.to[s.node[v]] = btVector3(c * p[0] + sine * p[2] + btScalar(frame->place[0]),
                                    p[1] + btScalar(frame->place[1]),
                                    c * p[2] - sine * p[0] + btScalar(frame->place[2]));
    }
    for (size_t i = 0; i < s.to.size(); i++)
        furthest = btMax(furthest, (s.to[i] - s.was[i]).length2());
    s.measure();
    // A cut, or put elsewhere.
    if (frame->reset || furthest > 0.25)
        s.settle();
    else
        s.advance(frame->dt_s);
    furthest = 0;
    for (size_t v = 0; v < s.node.size(); v++) {
        const btSoftBody::Node &n = s.body->m_nodes[int(s.node[v])];
        const btVector3 away = n.m_x + n.m_v * btScalar(s.left_s) - s.to[s.node[v]];
        const btScalar x = c * away.x() - sine * away.z(), z = c * away.z() + sine * away.x();
        furthest = btMax(furthest, btMax(away.length2(), n.m_v.length2()));
        frame->positions[3 * v] += float(x);
        frame->positions[3 * v + 1] += float(away.y());
        frame->positions[3 * v + 2] += float(z);
    }
    return furthest > btScalar(1e-10) ? SINEW_PLUGIN_MOVING : SINEW_PLUGIN_STILL;
}

void destroy(void *self)
{
    delete static_cast<Soft *>(self);
}

} // namespace

extern "C" const sinew_plugin *sinew_plugin_entry(void)
{
    static const sinew_plugin plugin = {
        SINEW_PLUGIN_ABI, sizeof(sinew_plugin), "bullet_soft", "1.0", describe, create, step,
        nullptr,          nullptr,              destroy};
    return &plugin;
}
