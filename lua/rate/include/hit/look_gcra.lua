-- look_gcra(key, now, cost, pace, whole): what a rule of gcra says to a hit: how much it allows now; how long the hit has to wait (µs), not
-- above 0 if it does not; until when the rule has not all of its burst (µs from now); and what count_gcra stores. whole: the burst times
-- the pace. A rule that was changed since limits what is stored.
-- EARLY
local function look_gcra(key, now, cost, pace, whole)
  local due, wait = gcra(math.min(redis.call('GET', key) or 0, now + whole), now, whole - cost * pace)
  return math.floor((now + whole - due) / pace), wait, due - now, due + cost * pace
end
