-- change.put.v1: create a draft, or write another revision of a change. The content replaces that of the revision before, and metadata
-- likewise. `expect_rev` is the revision that the caller has seen, 0 to create. Another content under review voids all answers and begins
-- a new round. Who writes a change is a contributor for ever, and so is the person who answers for an agent: contributors do not review.
-- The digest is SHA-1 of netstrings (`<length>:<bytes>,`): type, version, description, parameters, each resource in byte order,
-- rollback_strategy, timeout_ms, priority. `get_revision` returns what was replaced.
--
-- ARGV   rid          id
-- ARGV   id           name
-- ARGV   expect_rev   int 0..1000000000 ?=0
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   change_type  name
-- ARGV   version      bytes 0..100      ?=
-- ARGV   description  bytes 1..4096
-- ARGV   parameters   bytes 0..65536    ?=
-- ARGV   resources    ids 0..32         ?=
-- ARGV   rollback_strategy enum none|manual|automatic ?=none
-- ARGV   timeout_ms   int 0..2592000000 ?=0
-- ARGV   priority     int 0..100        ?=50
-- ARGV   author_name  bytes 0..200      ?=
-- ARGV   team         label             ?=
-- ARGV   ticket_ref   bytes 0..200      ?=
-- ARGV   tags         labels 0..16      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN created      now_ms:int state:text rev:int round:int digest:text
-- RETURN revised      now_ms:int state:text rev:int round:int digest:text
-- RETURN edited       now_ms:int state:text rev:int round:int digest:text
-- RETURN unchanged    now_ms:int state:text rev:int round:int digest:text
-- RETURN exists       now_ms:int state:text rev:int digest:text
-- RETURN outdated     now_ms:int state:text rev:int digest:text
-- RETURN state        now_ms:int state:text rev:int
-- RETURN is_reviewer  now_ms:int state:text slot:int
-- RETURN not_found    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.created change.revised change.edited change.outdated change.reviewing change.reminded change.escalated change.delegated
-- EVENT  change.rejected change.approved change.released change.failed change.cancelled
-- ROLE   author
-- REPLAY rid
-- COST   17 commands and one for each resource and tag; at most 5,500 commands, 230,000 steps

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
if #id > 64 then return refuse('id', id, 'at most 64 characters') end
refused = check_resources(resources)
if refused then return refused end
local before = replayed_one(ctx, 'put')
if before then return before end

local names, tag_list = table.concat(resources, ','), table.concat(tags, ',')
local content = {
  change_type, version, description, parameters, names, rollback_strategy, string.format('%d', timeout_ms), string.format('%d', priority),
}
local digest = redis.sha1hex(netstrings(content))

ctx.caller = caller
local own = load_change(ctx, id)
local refusal
if own then settle_requests(ctx, own) end
if own then refusal = refuse_put(own, person) elseif expect_rev > 0 then refusal = { 'not_found' } end
if refusal then return told(ctx, 'put', own, refusal) end
if not ctx.exists then
  create_base()
  ctx.made = true
end

local status = 'created'
if own then
  local edited = write_metadata(own, tag_list)
  if digest ~= own.digest then
    if own.state == 'reviewing' then note_objections(own) end
    local before = stored_content(own)
    keep_revision(own, before)
    write_content(ctx, own, names, digest)
    record_step(ctx, own, 'change.revised', actor, 'changed=' .. changed_fields(before, content), '')
    if own.state ~= 'draft' then open_round(ctx, own, actor, 'revised') end
    status = 'revised'
  elseif edited then
    record_step(ctx, own, 'change.edited', actor, '', '')
    status = 'edited'
  else
    status = 'unchanged'
  end
else
  own = create_change(ctx, person, names, tag_list, digest)
end
if status ~= 'unchanged' then redis.call('SADD', contributors .. id, actor, person) end
if status == 'revised' or status == 'edited' then settle_requests(ctx, own, true) end
return told(ctx, 'put', own, { status, own.state, own.rev, own.round, own.digest })
