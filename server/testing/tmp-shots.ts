import { openDashboard } from "./dashboard.ts";
await using d = await openDashboard();
const dayMs = 86_400_000;
const names = ["Order placed","Signed in","Plan upgraded","Payment received","Invoice sent","Support ticket opened"];
const icons = ["🛒","key","🚀","💰","mail","bug"];
const events = [];
const hostile = "Zoë/../%2F?#💰 <b>x</b> \u05d0\u05d1\u05d2/" + "long ".repeat(30);
for (let n=0;n<900;n++) { const u = n%17===0 ? "ada@example.com" : n%41===0 ? hostile : n%50===1 ? "مستخدم-١٢" : "cus_"+(1000+n%60);
 const i=(n*7)%6; events.push({channel:["orders","payments","support"][n%3], name:names[i], icon:icons[i], userId:u, tags:{plan:n%2?"pro":"free", amount:String(n)}, createdAt: Date.now()-Math.floor(((n*n*7919)%(170*dayMs)))}); }
for (let i=0;i<events.length;i+=300) await fetch(d.address+"/api/events",{method:"POST",headers:{"content-type":"application/json","x-api-key":d.key},body:JSON.stringify(events.slice(i,i+300))});
await fetch(d.address+"/api/users/ada%40example.com",{method:"PUT",headers:{"content-type":"application/json","x-api-key":d.key},body:JSON.stringify({name:"Ada Lovelace",plan:"pro",seats:5,trial:false,note:null})});
for (let n=0;n<30;n++) await fetch(d.address+"/api/users/cus_"+(1000+n),{method:"PUT",headers:{"content-type":"application/json","x-api-key":d.key},body:JSON.stringify({name:"Customer "+n,plan:n%2?"pro":"free",country:"DE"})});
await Bun.sleep(6000);
const shots = async (name:string, path:string, only?:string[]) => { for (const [size,viewport] of Object.entries({desk:{width:1440,height:900},phone:{width:390,height:844}})) for (const colorScheme of ["light","dark"] as const) { if (only && !only.includes(size+colorScheme)) continue; const page = await d.open(path,{viewport,colorScheme}); page.on("pageerror",e=>console.log("ERR",e.message)); await page.waitForTimeout(1500); await page.screenshot({path:"/tmp/tmp.d0fIAN8kLQ/"+name+"-"+size+"-"+colorScheme+".png"}); await page.context().close(); } };
const which = process.argv.slice(2);
if (which.includes("users")) await shots("users","/p/default/users");
if (which.includes("user")) { await shots("user","/p/default/users/ada%40example.com"); await shots("hostile","/p/default/users/"+encodeURIComponent(hostile),["desklight","phonedark"]); }
if (which.includes("keys")) await shots("keys","/p/default/keys",["desklight","phonedark"]);
if (which.includes("empty")) await shots("empty","/p/default/channels/nothing-yet",["desklight","phonelight"]);
