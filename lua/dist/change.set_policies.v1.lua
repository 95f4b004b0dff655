#!lua
-- generated from lua/change/set_policies.v1.lua by lua/bundle.py; do not edit
-- change.set_policies.v1: store policies of review, or remove them. A change takes a copy of its policy when it is submitted, so what is
-- stored here later does not touch it. Each version has a number of its own in the domain.
-- `required` approvals approve, `rejections` reject (0: only when the quorum cannot be reached). `reviewers` are asked for each change.
-- `needs`: what must be assessed before people are asked. Nobody has answered: every `remind_ms` an event; after `escalate_ms` the next
-- of `escalate_to` is asked, too; after `timeout_ms` (or the setting) the change is rejected, or approved if its risk is below
-- `timeout_approve_below`. A risk below `auto_below` approves without people, unless the change has one of `deny_tags`. An approval lasts
-- `approval_ms`, and may be tried `max_attempts` times. `approved_kind` and so on: the task that follows this step.
-- A domain has at most 1,000 policies.
--
-- DATA   policies hash   {base}:policies
-- DATA   config   hash   {base}:config
-- DATA   once     hash   {base}:once
-- DATA   once_due zset   {base}:once:due
-- DATA   events   stream {base}:events
-- ARGV   rid          id
-- ARGV   actor        label            ?=
-- ARGV   caller       label            ?=
-- ARGV   source       bytes 0..200     ?=
-- ARGV   trace        bytes 0..128     ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   name         name
-- PAIR   remove       bool             ?=0
-- PAIR   required     int 1..32
-- PAIR   rejections   int 0..32        ?=1
-- PAIR   reviewers    labels 1..16
-- PAIR   contributors_may_vote bool    ?=0
-- PAIR   agents_may_vote bool          ?=0
-- PAIR   needs        enum none|risk|preview|both ?=none
-- PAIR   remind_ms    int 1000..31536000000
-- PAIR   escalate_ms  int 1000..31536000000
-- PAIR   escalate_to  labels 1..3
-- PAIR   timeout_ms   int 1000..31536000000
-- PAIR   on_timeout   enum reject|approve ?=reject
-- PAIR   timeout_approve_below int 1..101
-- PAIR   auto_below   int 0..101       ?=0
-- PAIR   deny_tags    labels 1..16
-- PAIR   approval_ms  int 1000..31536000000 ?=604800000
-- PAIR   max_attempts int 1..100       ?=3
-- PAIR   delegation_depth int 0..4     ?=3
-- PAIR   approved_kind label
-- PAIR   approved_lane lane ?=any
-- PAIR   approved_priority int 0..9 ?=5
-- PAIR   rejected_kind label
-- PAIR   rejected_lane lane ?=any
-- PAIR   rejected_priority int 0..9 ?=5
-- PAIR   changes_requested_kind label
-- PAIR   changes_requested_lane lane ?=any
-- PAIR   changes_requested_priority int 0..9 ?=5
-- PAIR   completed_kind label
-- PAIR   completed_lane lane ?=any
-- PAIR   completed_priority int 0..9 ?=5
-- PAIR   failed_kind label
-- PAIR   failed_lane lane ?=any
-- PAIR   failed_priority int 0..9 ?=5
-- PAIR   cancelled_kind label
-- PAIR   cancelled_lane lane ?=any
-- PAIR   cancelled_priority int 0..9 ?=5
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         stored version:int
-- EACH   item         same version:int
-- EACH   item         removed
-- EACH   item         unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  policy.put policy.removed
-- ROLE   operate
-- REPLAY rid
-- COST   7 commands and 4 for each policy; at most 450 commands, 87,000 steps

local unpack = table.unpack or unpack
local arg_find = string.find
local arg_empty = {}
local function refuse(field, value, want)
  local got = 'nothing'
  if type(value) == 'number' then
    got = string.format('%.0f', value)
  elseif value then
    got = "'" .. string.gsub(string.sub(value, 1, 64), '[^ -~]', '?') .. "'"
  end
  return redis.error_reply('ADEQ_ARG ' .. field .. ' must be ' .. want .. ', got ' .. got)
end
local function arg_uint(v, min, max)
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end
local function arg_label(v)
  local gsub, more = string.gsub, '[\128-\191]'
  if arg_find(v, '\226\128[\128-\138\168\169\175]') or arg_find(v, '\226\129\159') then return nil end
  if arg_find(v, '\225\154\128') or arg_find(v, '\227\128\128') then return nil end
  v = gsub(gsub(v, '\194[\161-\191]', 'a'), '[\195-\223]' .. more, 'a')
  v = gsub(gsub(v, '\224[\160-\191]' .. more, 'a'), '\237[\128-\159]' .. more, 'a')
  v = gsub(v, '[\225-\236\238\239]' .. more .. more, 'a')
  v = gsub(gsub(v, '\240[\144-\191]' .. more .. more, 'a'), '\244[\128-\143]' .. more .. more, 'a')
  v = gsub(v, '[\241-\243]' .. more .. more .. more, 'a')
  return arg_find(v, '^[%w._:/@+-]+$')
end

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':policies', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local actor = ARGV[2]
if actor ~= '' and (not actor or #actor > 200 or not (arg_find(actor, '^[%w._:/@+-]+$') or arg_label(actor))) then
  return refuse('actor', actor, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local caller = ARGV[3]
if caller ~= '' and (not caller or #caller > 200 or not (arg_find(caller, '^[%w._:/@+-]+$') or arg_label(caller))) then
  return refuse('caller', caller, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local source = ARGV[4]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[5]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[6]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[6], 'an integer from 0 to 9000000000000') end
end
local arg_at = 7
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_name, item_pairs = {}, {}
local arg_seen_item, arg_ids, arg_lane
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_name[i] = v
  arg_at = arg_at + 1
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456789', size, 1, true) or arg_uint(size, 0, 36)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 36') end
    if not arg_seen_item then
      arg_seen_item = {}
      function arg_ids(v, min, max, is_label)
        local list, n = {}, 0
        if not v or #v > max * 201 then return nil end
        if v ~= '' then
          for id in string.gmatch(v .. ',', '([^,]*),') do
            if #id > 200 or not (arg_find(id, '^[%w._:/@+-]+$') or (is_label and is_label(id))) then return nil end
            n = n + 1
            list[n] = id
          end
        end
        if n >= min and n <= max then return list end
      end
      function arg_lane(v)
        if not v or v == 'any' then return v end
        local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
        if not group or #group > 100 then return nil end
        if rest == '' then return v end
        local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
        if inst and #inst <= 100 then return v end
      end
    end
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'remove' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].remove', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'required' then
        v = arg_uint(v, 1, 32)
        if not v then return refuse('item[' .. i .. '].required', raw, 'an integer from 1 to 32') end
      elseif name == 'rejections' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 32)
          if not v then return refuse('item[' .. i .. '].rejections', raw, 'an integer from 0 to 32') end
          if v == 1 then v = nil end
        end
      elseif name == 'reviewers' then
        v = arg_ids(v, 1, 16, arg_label)
        if not v then return refuse('item[' .. i .. '].reviewers', raw, '1 to 16 labels with commas between them') end
      elseif name == 'contributors_may_vote' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].contributors_may_vote', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'agents_may_vote' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].agents_may_vote', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'needs' then
        if raw == '' then
          v = nil
        else
          if v ~= 'none' and v ~= 'risk' and v ~= 'preview' and v ~= 'both' then
            return refuse('item[' .. i .. '].needs', v, 'one of none, risk, preview, both')
          end
          if v == 'none' then v = nil end
        end
      elseif name == 'remind_ms' then
        v = arg_uint(v, 1000, 31536000000)
        if not v then return refuse('item[' .. i .. '].remind_ms', raw, 'an integer from 1000 to 31536000000') end
      elseif name == 'escalate_ms' then
        v = arg_uint(v, 1000, 31536000000)
        if not v then return refuse('item[' .. i .. '].escalate_ms', raw, 'an integer from 1000 to 31536000000') end
      elseif name == 'escalate_to' then
        v = arg_ids(v, 1, 3, arg_label)
        if not v then return refuse('item[' .. i .. '].escalate_to', raw, '1 to 3 labels with commas between them') end
      elseif name == 'timeout_ms' then
        v = arg_uint(v, 1000, 31536000000)
        if not v then return refuse('item[' .. i .. '].timeout_ms', raw, 'an integer from 1000 to 31536000000') end
      elseif name == 'on_timeout' then
        if raw == '' then
          v = nil
        else
          if v ~= 'reject' and v ~= 'approve' then
            return refuse('item[' .. i .. '].on_timeout', v, 'one of reject, approve')
          end
          if v == 'reject' then v = nil end
        end
      elseif name == 'timeout_approve_below' then
        v = arg_uint(v, 1, 101)
        if not v then return refuse('item[' .. i .. '].timeout_approve_below', raw, 'an integer from 1 to 101') end
      elseif name == 'auto_below' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 101)
          if not v then return refuse('item[' .. i .. '].auto_below', raw, 'an integer from 0 to 101') end
          if v == 0 then v = nil end
        end
      elseif name == 'deny_tags' then
        v = arg_ids(v, 1, 16, arg_label)
        if not v then return refuse('item[' .. i .. '].deny_tags', raw, '1 to 16 labels with commas between them') end
      elseif name == 'approval_ms' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 1000, 31536000000)
          if not v then return refuse('item[' .. i .. '].approval_ms', raw, 'an integer from 1000 to 31536000000') end
          if v == 604800000 then v = nil end
        end
      elseif name == 'max_attempts' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 1, 100)
          if not v then return refuse('item[' .. i .. '].max_attempts', raw, 'an integer from 1 to 100') end
          if v == 3 then v = nil end
        end
      elseif name == 'delegation_depth' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 4)
          if not v then return refuse('item[' .. i .. '].delegation_depth', raw, 'an integer from 0 to 4') end
          if v == 3 then v = nil end
        end
      elseif name == 'approved_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].approved_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'approved_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].approved_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'approved_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].approved_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      elseif name == 'rejected_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].rejected_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'rejected_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].rejected_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'rejected_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].rejected_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      elseif name == 'changes_requested_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].changes_requested_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'changes_requested_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].changes_requested_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'changes_requested_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].changes_requested_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      elseif name == 'completed_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].completed_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'completed_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].completed_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'completed_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].completed_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      elseif name == 'failed_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].failed_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'failed_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].failed_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'failed_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].failed_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      elseif name == 'cancelled_kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].cancelled_kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'cancelled_lane' then
        if raw == '' then
          v = nil
        else
          v = arg_lane(v)
          if not v then return refuse('item[' .. i .. '].cancelled_lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
          if v == 'any' then v = nil end
        end
      elseif name == 'cancelled_priority' then
        if raw == '' then
          v = nil
        else
          v = arg_uint(v, 0, 9)
          if not v then return refuse('item[' .. i .. '].cancelled_priority', raw, 'an integer from 0 to 9') end
          if v == 5 then v = nil end
        end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from remove, required, rejections, reviewers, contributors_may_vote, agents_may_vote, needs, remind_ms, escalate_ms, escalate_to, timeout_ms, on_timeout, timeout_approve_below, auto_below, deny_tags, approval_ms, max_attempts, delegation_depth, approved_kind, approved_lane, approved_priority, rejected_kind, rejected_lane, rejected_priority, and others')
      end
      if arg_seen_item[name] == i then
        return refuse('item[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_item[name] = i
      if v ~= nil then
        if filled == 0 then
          entry = { name, raw, [name] = v }
        else
          entry[filled + 1] = name
          entry[filled + 2] = raw
          entry[name] = v
        end
        filled = filled + 2
      end
    end
    arg_at = arg_at + 2 * size
  end
  item_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- check_follows(given): return an error if a policy gives the lane or the priority of a task, and not its kind.
local function check_follows(given)
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    if not given[step .. '_kind'] and (given[step .. '_lane'] or given[step .. '_priority']) then
      return refuse(step .. '_kind', '', 'the kind of the task, if its lane or priority is given')
    end
  end
end

-- refuse_hidden(field, name): the error if the name of a person or a group has a character that nobody sees: it would look like another name,
-- and be another voter. Or nil.
local function refuse_hidden(field, name)
  if not string.find(name, '[\194-\244]') then return nil end
  local forms = {  -- U+00AD 034F 061C 070F, 115F-1160, 17B4-17B5, 180B-180F, 200B-200F and 202A-202E, 2060-206F, 2800, 3164, FE00-FE0F, FEFF, FFA0
    '\194\173', '\205\143', '\216\156', '\220\143', '\225\133[\159\160]', '\225\158[\180\181]', '\225\160[\139-\143]', '\226\128[\139-\143\170-\174]',
    '\226\129[\160-\175]', '\226\160\128', '\227\133\164', '\239\184[\128-\143]', '\239\187\191', '\239\190\160',
    '\239\191[\176-\187]', '\240\147\144[\176-\191]', '\240\150\191\164', '\240\155\178[\160-\163]',  -- FFF0-FFFB, 13430-1343F, 16FE4, 1BCA0-1BCA3
    '\240\157\133\153', '\240\157\133[\179-\186]', '\243\160',  -- 1D159, 1D173-1D17A, E0000-E0FFF
  }
  for _, form in ipairs(forms) do  -- at most 21: forms
    if string.find(name, form) then return refuse(field, name, 'a name without invisible characters, such as U+00AD or U+200B') end
  end
end

-- check_reviewers(field, names): return an error if one of these is no reviewer.
local function check_reviewers(field, names)
  for _, name in ipairs(names) do  -- at most 32: reviewers
    if not string.find(name, '^user:.') and not string.find(name, '^group:.') then
      return refuse(field, name, 'user:<id> or group:<name>')
    end
    local refused = refuse_hidden(field, name)
    if refused then return refused end
  end
end

-- check_policy(ctx, given): return an error if the fields of a policy contradict each other.
local function check_policy(ctx, given)
  if given.remove then
    if #given > 2 then return refuse('remove', 1, 'given alone') end
    return nil
  end
  if not given.required then return refuse('required', '', 'a number of approvals; there is no default') end
  if not given.escalate_to ~= not given.escalate_ms then return refuse('escalate_ms', given.escalate_ms, 'given with escalate_to, and only so') end
  local refused
  if given.on_timeout == 'approve' and not given.timeout_approve_below then
    return refuse('timeout_approve_below', '', 'the risk below which a timeout approves')
  end
  if (given.timeout_ms or 0) > ctx.settings_max_timeout_ms then
    return refuse('timeout_ms', given.timeout_ms, 'at most the setting max_timeout_ms, ' .. ctx.settings_max_timeout_ms)
  end
  refused = check_follows(given)
  if refused then return refused end
  return check_reviewers('reviewers', given.reviewers or {}) or check_reviewers('escalate_to', given.escalate_to or {})
end

-- check_room(): return an error if this call would store more policies than a domain may have; get_policies reads all of them.
local function check_room() local policies = KEYS[1]
  local count = redis.call('HLEN', policies)
  if count + item_count <= 1000 then return nil end
  for i, name in ipairs(item_name) do  -- at most 100: items
    if not item_pairs[i].remove and redis.call('HEXISTS', policies, name) == 0 then count = count + 1 end
  end
  if count > 1000 then return refuse('item', count .. ' policies', 'so few that the domain has at most 1000 policies') end
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[3]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[3], KEYS[4]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[3], KEYS[4]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- note_done(ctx, verb, word): leave a word for this call, in case it is sent again: a late copy must not undo what came
-- after it.
local function note_done(ctx, verb, word)
  if rid == '' then return end
  hold_once(ctx, 'done:' .. verb .. ':' .. rid, word, 60000)
  sweep_once(ctx, 10)
end

-- note_reply(ctx, verb, answers): remember what this call answers, in case it is sent again. An answer is a status and its fields:
-- whole numbers, and texts without spaces, commas and `|`.
-- EARLY
local function note_reply(ctx, verb, answers)
  if not ctx.exists and not ctx.made then return end
  local items = {}
  for i, answer in ipairs(answers) do  -- at most 100: items
    local parts = {}
    for j, value in ipairs(answer) do
      parts[j] = value == value .. '' and 't' .. value or 'i' .. string.format('%.0f', value)
    end
    items[i] = table.concat(parts, '|')
  end
  note_done(ctx, verb, table.concat(items, ','))
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 1) > 1 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 1 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6, -4)  -- the first three of six digits
  return text + 0, text
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[2]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'max_timeout_ms', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_max_timeout_ms = tonumber(row[3] or 2592000000), settings_events_max = tonumber(row[4] or 100000) }
end

-- replayed_reply(ctx, verb): the answers that the same call got in the last minute, or nil.
-- EARLY
local function replayed_reply(ctx, verb)
  local word = done_before(ctx, verb)
  if not word then return nil end
  local answers = {}
  for item in string.gmatch(word, '[^,]+') do  -- at most 100: items
    local answer = {}
    for form, value in string.gmatch(item, '([ti])([^|]*)') do answer[#answer + 1] = form == 'i' and tonumber(value) or value end
    answers[#answers + 1] = answer
  end
  return answers
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- acted_by(): who has made this call, and who has sent it for that person, as words of an event, each behind a space.
local function acted_by()
  return (actor ~= '' and ' by=' .. actor or '') .. (caller ~= '' and ' caller=' .. caller or '')
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[2]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[5]
  if ctx.settings_events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', unpack(entry))  -- at most 12: fields of an event
end

-- list_follows(given): the tasks of a policy: `<step>|<kind>|<lane>|<priority>`, separated by `;`.
local function list_follows(given)
  local words = {}
  for _, step in ipairs({ 'approved', 'rejected', 'changes_requested', 'completed', 'failed', 'cancelled' }) do
    local wanted = given[step .. '_kind']
    if wanted then
      words[#words + 1] = table.concat({ step, wanted, given[step .. '_lane'] or 'any', given[step .. '_priority'] or 5 }, '|')
    end
  end
  return table.concat(words, ';')
end

-- policy_text(given): a policy as it is stored, with all fields, behind its version.
local function policy_text(given)
  local function list(names) return table.concat(names or {}, ',') end
  local function flag(value) return value and '1' or '0' end
  return table.concat({ 'required=' .. given.required, 'rejections=' .. (given.rejections or 1), 'reviewers=' .. list(given.reviewers),
    'contributors_may_vote=' .. flag(given.contributors_may_vote), 'agents_may_vote=' .. flag(given.agents_may_vote),
    'needs=' .. (given.needs or 'none'), 'remind_ms=' .. string.format('%.0f', given.remind_ms or 0),
    'escalate_ms=' .. string.format('%.0f', given.escalate_ms or 0), 'escalate_to=' .. list(given.escalate_to),
    'timeout_ms=' .. string.format('%.0f', given.timeout_ms or 0), 'on_timeout=' .. (given.on_timeout or 'reject'),
    'timeout_approve_below=' .. (given.timeout_approve_below or 0), 'auto_below=' .. (given.auto_below or 0),
    'deny_tags=' .. list(given.deny_tags), 'approval_ms=' .. string.format('%.0f', given.approval_ms or 604800000),
    'max_attempts=' .. (given.max_attempts or 3), 'delegation_depth=' .. (given.delegation_depth or 3),
    'follows=' .. list_follows(given) }, ' ')
end

  arg_made = { acted_by = acted_by, create_base = create_base, emit = emit, policy_text = policy_text }
  return arg_made
end

local policies, config = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
refused = refuse_hidden('actor', actor)
if refused then return refused end
local before = replayed_reply(ctx, 'set_policies')
if before then return { 'ok', ctx.now, before } end
for i = 1, item_count do
  refused = check_policy(ctx, item_pairs[i])
  if refused then return refused end
end
refused = check_room()
if refused then return refused end
if not ctx.exists then arg_rare().create_base() end
ctx.made = true
local answers = {}
for i, name in ipairs(item_name) do
  local own, stored = item_pairs[i], redis.call('HGET', policies, name) or ''
  local version, old = string.match(stored, '^version=(%d+) (.*)$')
  if own.remove then
    answers[i] = { version and 'removed' or 'unknown' }
    if version then
      redis.call('HDEL', policies, name)
      arg_rare().emit(ctx, 'policy.removed', name, string.sub(arg_rare().acted_by(), 2))
    end
  elseif old == arg_rare().policy_text(own) then
    answers[i] = { 'same', tonumber(version) }
  else
    version = redis.call('HINCRBY', config, 'policy_version', 1)
    redis.call('HSET', policies, name, 'version=' .. version .. ' ' .. arg_rare().policy_text(own))
    arg_rare().emit(ctx, 'policy.put', name, 'version=' .. version .. arg_rare().acted_by())
    answers[i] = { 'stored', version }
  end
end
note_reply(ctx, 'set_policies', answers)
return { 'ok', ctx.now, answers }
