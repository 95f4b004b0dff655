-- note_end(conf, how, id, parent, stamp): note what pass_on has to do for a task. `c` and `f`: tell its end to the parent, which
-- is '<id> <its place>', that gathers it, and to those that wait for it and have come by now; who comes later waits for another
-- task of that id. `o`: tell it to the next one of its ordering key, in place of a parent. `t`: cancel its children, under a stamp.
local function note_end(conf, how, id, parent, stamp)
  conf.last_place = conf.last_place or redis.call('HGET', config, 'place') or 0
  redis.call('ZADD', ends, conf.now_text,
    how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or conf.last_place))
  conf.noted = true
end
