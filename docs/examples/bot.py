"""A bot in a process of its own: arena host --bot 'exec:python3 docs/examples/bot.py'

Each line on stdin is the world, each line on stdout the answer to it. docs/REFERENCE.md has the fields."""
import json
import sys

TILE = 65536  # Places are in 65,536ths of a tile.


def think(world):
    me, mine = world["player"], world["players"][world["player"]]
    team = mine["team"]
    teams = [player["team"] for player in world["players"]]
    far = lambda a, b: ((a["x"] - b["x"]) ** 2 + (a["y"] - b["y"]) ** 2) ** 0.5 / TILE
    home = world["cores"][me]
    army = [u for u in world["units"] if u["owner"] == me and not u["hero"]]
    foes = [u for u in world["units"] if teams[u["owner"]] != team]
    leader = next((u for u in world["units"] if u["owner"] == me and u["hero"]), home)
    near = [u for u in foes if far(u, leader) < 9]
    friends = [u for u in army if far(u, leader) < 9]
    open_circles = [c for c in world["circles"] if c["owner"] is None or teams[c["owner"]] != team]
    targets = [c for seat, c in enumerate(world["cores"]) if teams[seat] != team and c["open"] and c["hp"] > 0]
    if any(far(u, home) < 10 for u in foes):
        goal = min(foes, key=lambda u: far(u, home))  # Defend.
    elif targets and len(army) > 1.5 * len(foes):
        goal = min(targets, key=lambda c: far(c, leader))  # Attack a core.
    else:
        goal = min(open_circles or world["circles"], key=lambda c: far(c, leader) + far(c, home) / 2)
    retreats = len(near) > len(friends) + 2
    commands = [{"Train": "archer" if len(army) % 3 else "swordsman"}] if mine["supply"] >= 3 else []
    to = home if retreats else goal
    commands.append({"HeroGo": [to["x"], to["y"]]}) if mine["hero"] else None
    commands.append({"AttackMove": [[u["id"] for u in army[:32]], [to["x"], to["y"]], "Now"]}) if army else None
    return commands


for line in sys.stdin:
    world = json.loads(line)
    answer = think(world) if world["tick"] % 30 < 6 else []
    print(json.dumps({"tick": world["tick"], "commands": answer}), flush=True)
